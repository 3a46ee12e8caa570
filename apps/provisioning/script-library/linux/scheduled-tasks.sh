#!/usr/bin/env bash
# Lists cron jobs and systemd timers. The tables of other users need root. Changes nothing.
set -u
echo 'Cron:'
for file in /etc/crontab /etc/cron.d/* /var/spool/cron/crontabs/* /var/spool/cron/*; do
  [ -f "$file" ] && [ -r "$file" ] || continue
  grep -vE '^[[:space:]]*(#|$)' "$file" | sed "s#^#  $file: #"
done
for folder in /etc/cron.hourly /etc/cron.daily /etc/cron.weekly /etc/cron.monthly; do
  [ -d "$folder" ] || continue
  for job in "$folder"/*; do
    if [ -x "$job" ]; then echo "  $job"; fi
  done
done
if command -v systemctl >/dev/null 2>&1 && [ -d /run/systemd/system ]; then
  echo 'Timers:'
  systemctl list-timers --all --no-legend --no-pager | sed 's/^/  /'
fi
exit 0
