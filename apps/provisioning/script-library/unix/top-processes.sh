#!/usr/bin/env bash
# Lists the ten processes with the most memory and the ten with the most processor time, without their arguments. Changes
# nothing.
set -u
echo 'Most memory:'
ps -A -o rss= -o pid= -o user= -o comm= | sort -rn | head -n 10 | awk '{ printf "%8d MB  %7d  %-16s %s\n", $1 / 1024, $2, $3, $4 }'
echo 'Most processor:'
ps -A -o pcpu= -o pid= -o user= -o comm= | sort -rn | head -n 10 | awk '{ printf "%9s %%  %7d  %-16s %s\n", $1, $2, $3, $4 }'
exit 0
