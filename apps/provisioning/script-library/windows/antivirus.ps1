# Shows Microsoft Defender and the antivirus products that Windows knows. Exit code 1: Defender runs without real-time
# protection or with signatures of more than 7 days, and there is no other product. Changes nothing.
$ErrorActionPreference = 'Stop'
$products = @(Get-CimInstance -Namespace root/SecurityCenter2 -ClassName AntiVirusProduct -ErrorAction SilentlyContinue)
foreach ($product in $products) { Write-Output "Known: $($product.displayName)" }
$others = @($products | Where-Object { $_.displayName -notlike '*Defender*' })
try {
  $defender = Get-MpComputerStatus
} catch {
  Write-Output 'Microsoft Defender is not installed'
  if ($others.Count -gt 0) { exit 0 }
  exit 1
}
Write-Output "Defender: real-time protection $($defender.RealTimeProtectionEnabled), signatures $($defender.AntivirusSignatureAge) days old, last quick scan $($defender.QuickScanEndTime)"
$healthy = $defender.RealTimeProtectionEnabled -and $defender.AntivirusSignatureAge -le 7
if (-not $healthy -and $others.Count -eq 0) { exit 1 }
exit 0
