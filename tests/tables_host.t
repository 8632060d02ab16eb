#!/bin/sh
# tables_host.t - the host's products by tables compute right numbers: all paths to l = 11.
. tests/products.sh
check_products tables_host -O2 cat tests/simt/specs/tables_l11.yaml sizes paths
