#!/usr/bin/env bash
# Looks for processes of common backup agents. Exit code 1: none is running. Changes nothing.
set -u
found=0
running=$(ps -A -o comm=)
report() {
  if echo "$running" | grep -qiE "(^|/)$2"; then
    echo "running: $1"
    found=1
  fi
}
report 'Veeam Agent' '(veeamservice|veeamagent)'
report 'Acronis' '(acronis_mms|mms|aakore)$'
report 'Duplicati' 'duplicati'
report 'Bacula' 'bacula-fd'
report 'Bareos' 'bareos-fd'
report 'Commvault' '(cvd|cvlaunchd)$'
report 'CrashPlan' '(crashplan|code42)'
report 'Datto' '(dlad|dattobackup)'
report 'Druva' '(phoenix|insync)'
report 'IBM Storage Protect' '(dsmc|dsmcad)$'
report 'MSP360' '(cbbackup|onlinebackup)'
report 'N-able Cove' '(backupfp|proxyfs)'
report 'NetBackup' '(bpcd|vnetd)$'
report 'Time Machine' 'backupd$'
report 'UrBackup' 'urbackupclient'
report 'restic or borg' '(restic|borg)$'
[ "$found" -eq 1 ] || { echo 'No backup agent is running'; exit 1; }
