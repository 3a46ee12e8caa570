# Shows the state of the time service. Exit code 1: it does not run, or the clock is not synchronized. Changes nothing.
$ErrorActionPreference = 'Stop'
$service = Get-Service -Name W32Time -ErrorAction SilentlyContinue
if (-not $service) {
  Write-Output 'There is no Windows Time service'
  exit 2
}
Write-Output "Time: $((Get-Date).ToUniversalTime().ToString('s'))Z, service: $($service.Status)"
if ($service.Status -ne 'Running') { exit 1 }
$status = @(w32tm.exe /query /status)
if ($LASTEXITCODE -ne 0) { exit 1 }
Write-Output $status
# The first line is the leap indicator; 3 is: not synchronized.
if ($status[0] -match ': 3\(') { exit 1 }
exit 0
