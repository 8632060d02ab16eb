/* common.h - what all kernels include, compiled once for all by build.sh: nothing here depends on their macros. */
#include "cgtp_types.h"
#include "simt_device.h"

#include <string.h>
#include <type_traits>
