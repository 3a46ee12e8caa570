# Lists the updates that Windows Update offers. Exit code 1: there are some. Searches only: installs and downloads nothing.
$ErrorActionPreference = 'Stop'
try {
  $session = New-Object -ComObject Microsoft.Update.Session
  $result = $session.CreateUpdateSearcher().Search('IsInstalled=0 and IsHidden=0')
} catch {
  Write-Output "Windows Update cannot be asked: $($_.Exception.Message)"
  exit 2
}
Write-Output "Pending updates: $($result.Updates.Count)"
foreach ($update in $result.Updates) { Write-Output "$($update.MsrcSeverity) $($update.Title)" }
if ($result.Updates.Count -gt 0) { exit 1 }
exit 0
