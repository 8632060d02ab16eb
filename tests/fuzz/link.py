#!/usr/bin/env python3
"""link.py FOLDER FILE.. - links to the files in FOLDER, each of the name that its path is with - for /."""
import os
import sys

folder, *files = sys.argv[1:]
for file in files:
    os.symlink(os.path.abspath(file), f"{folder}/{file.replace('/', '-')}")
