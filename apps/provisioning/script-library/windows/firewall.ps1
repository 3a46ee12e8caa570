# Shows the profiles of Windows Defender Firewall. Exit code 1: one of them is off. Changes nothing.
$ErrorActionPreference = 'Stop'
$profiles = @(Get-NetFirewallProfile -PolicyStore ActiveStore)
$profiles | ForEach-Object { Write-Output "$($_.Name): enabled $($_.Enabled), inbound $($_.DefaultInboundAction)" }
if (@($profiles | Where-Object { "$($_.Enabled)" -ne 'True' }).Count -gt 0) { exit 1 }
exit 0
