#!/bin/sh
# tables.t - paths by tables compute right numbers: on the shim, in staged items' shared memory and where rows stand, and on
# the host; of degrees up to 11. tables_text.t looks at what is written.
. tests/products.sh
. tests/simt/kernels.sh

from=tests/simt/specs
double="-e 's/^name: .*/&_f64/' -e 's/^index:/precision: float64\n&/'"
check_kernels tables cat "$from/tables_widths.yaml $from/tables_high.yaml" sizes paths calls
check_kernels tables_any "sed -e 's/^name: .*/&_any/' -e 's/^index:/edges: any\nreduction: atomic\n&/'" $from/tables_widths.yaml sizes
check_kernels tables_general "sed -e 's/evaluation: staged/evaluation: general/'" $from/tables_widths.yaml sizes paths calls
check_kernels tables_errors "sed -e 's/evaluation: staged/evaluation: general/' -e 's/^index:/accumulate: compensated\n&/'" \
    $from/tables_widths.yaml paths
check_kernels tables_l6 cat $from/tables_l6.yaml sizes
check_kernels tables_l6_double "sed $double" $from/tables_l6.yaml sizes
check_kernels tables_l6_batch "sed -e '/^index:/d'" $from/tables_l6.yaml sizes
check_kernels tables_l11 cat $from/tables_l11.yaml symmetry euler
echo "1..$n"
