# SPDX-License-Identifier: MIT
"""python3 -m cgtpgen, and the command cgtpgen of an installed wheel: the generator."""
import os
import sys

import cgtpgen


def main():
    program = cgtpgen.generator()
    os.execvp(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
