/* version.h - the generator's version: of --version, of the banner of headers. */
#ifndef CGTPGEN_VERSION_H
#define CGTPGEN_VERSION_H

#define CGTPGEN_VERSION "0.1.0"

#endif
