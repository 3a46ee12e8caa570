# Counts failed logons of the last 24 hours by account and address. Needs administrator rights. Exit code 1: 20 or more.
# Changes nothing.
$ErrorActionPreference = 'Stop'
$filter = @{ LogName = 'Security'; Id = 4625; StartTime = (Get-Date).AddHours(-24) }
try {
  $events = @(Get-WinEvent -FilterHashtable $filter -MaxEvents 5000)
} catch {
  if ($_.FullyQualifiedErrorId -notlike 'NoMatchingEventsFound*') {
    Write-Output "The Security log cannot be read: $($_.Exception.Message)"
    exit 2
  }
  $events = @()
}
Write-Output "Failed logons: $($events.Count)"
$events | ForEach-Object { "$($_.Properties[6].Value)\$($_.Properties[5].Value) from $($_.Properties[19].Value)" } |
  Group-Object | Sort-Object -Property Count -Descending | Select-Object -First 20 |
  ForEach-Object { Write-Output "$($_.Count) x $($_.Name)" }
if ($events.Count -ge 20) { exit 1 }
exit 0
