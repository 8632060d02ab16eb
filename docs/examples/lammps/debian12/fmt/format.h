/* fmt/format.h - LAMMPS's headers name these, and Debian 12's liblammps-dev has not the header that declares
 * them. Nothing here is called: text is given to LAMMPS as std::string. */
#ifndef FMT_FORMAT_H
#define FMT_FORMAT_H

#include <string>

namespace fmt
{
struct string_view;
struct format_args;
template <class... Args, class S> const format_args &make_args_checked(const S &format, Args &...);
} // namespace fmt

#endif
