#!/bin/sh
# logged.sh LOG COMMAND..: runs the command, its output on the terminal and, after the date, in LOG;
# exits as the command does.
log=$1
shift
date -u '+# %Y-%m-%d %H:%M UTC' > "$log"
{ "$@" 2>&1; echo $? > "$log.status"; } | tee -a "$log"
status=$(cat "$log.status")
rm -f "$log.status"
exit "$status"
