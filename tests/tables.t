#!/bin/sh
# tables.t - paths by tables
. tests/products.sh
. tests/simt/kernels.sh
check_kernels tables_l6 cat tests/simt/specs/tables_l6.yaml sizes
echo "1..$n"
