#!/bin/sh
# why.sh LOG - of what a build printed, the lines that say why it failed, as comments of TAP.
grep -E -A5 'error|undefined reference|undefined symbol|cannot find|No such file|not found' "$1" | head -n 60 | sed 's/^/# /'
