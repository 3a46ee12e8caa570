#!/usr/bin/env bash
# Lists accounts with the id 0 and the members of groups that may become root. Exit code 1: an account other than root has
# the id 0. Changes nothing.
set -u
echo 'Accounts with id 0:'
roots=$(awk -F: '$3 == 0 { print $1 }' /etc/passwd)
echo "$roots" | sed 's/^/  /'
for group in sudo wheel admin root; do
  members=$(awk -F: -v group="$group" '$1 == group { print $4 }' /etc/group)
  [ -z "$members" ] || echo "Group $group: $members"
done
[ "$roots" = root ] || { echo 'Warning: an account other than root has the id 0'; exit 1; }
