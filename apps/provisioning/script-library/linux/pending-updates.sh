#!/usr/bin/env bash
# Lists pending updates by what the package manager already knows. Exit code 1: there are some. Changes nothing, also not
# the lists of packages.
set -u
if command -v apt-get >/dev/null 2>&1; then
  updates=$(LC_ALL=C apt-get --simulate --quiet upgrade 2>/dev/null | awk '$1 == "Inst" { print $2, $3, $4 }')
elif command -v dnf >/dev/null 2>&1; then
  updates=$(LC_ALL=C dnf --quiet --cacheonly list --upgrades 2>/dev/null | awk 'NF == 3 { print $1, $2 }')
elif command -v zypper >/dev/null 2>&1; then
  updates=$(LC_ALL=C zypper --quiet --no-refresh list-updates 2>/dev/null | awk -F'|' '$1 ~ /^v/ { print $3, $5 }')
elif command -v apk >/dev/null 2>&1; then
  updates=$(apk version -l '<' 2>/dev/null | tail -n +2)
elif command -v pacman >/dev/null 2>&1; then
  updates=$(pacman -Qu 2>/dev/null)
else
  echo 'No known package manager'
  exit 2
fi
if [ -f /var/run/reboot-required ]; then echo 'A restart is required'; fi
if [ -z "$updates" ]; then
  echo 'No pending updates'
  exit 0
fi
echo "Pending updates: $(echo "$updates" | wc -l | tr -d ' ')"
echo "$updates" | head -n 100
exit 1
