#!/bin/sh
# tables.t - paths by tables
. tests/products.sh
. tests/simt/kernels.sh
check_kernels tables cat 'tests/simt/specs/tables_widths.yaml tests/simt/specs/tables_high.yaml' sizes paths calls
check_kernels tables_general "sed -e 's/evaluation: staged/evaluation: general/'" tests/simt/specs/tables_widths.yaml paths calls
echo "1..$n"
