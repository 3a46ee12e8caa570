#!/usr/bin/env bash
# Lists the 20 largest files of at least 500 MB below the folders of users and programs. Changes nothing.
set -u
folders=()
for folder in /home /root /Users /var /opt /srv /tmp; do
  if [ -d "$folder" ] && [ ! -L "$folder" ]; then folders+=("$folder"); fi
done
echo "Searching ${folders[*]}"
found=$(find "${folders[@]}" -xdev -type f -size +512000k -exec ls -ln {} + 2>/dev/null | sort -rn -k5,5 | head -n 20)
if [ -z "$found" ]; then
  echo 'No file of at least 500 MB'
else
  echo "$found" | awk '{ size = $5; $1 = $2 = $3 = $4 = $5 = $6 = $7 = $8 = ""; sub(/^ +/, ""); printf "%8d MB  %s\n", size / 1048576, $0 }'
fi
exit 0
