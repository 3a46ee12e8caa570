# Lists the TCP ports that are open for requests, with their processes. Changes nothing.
$ErrorActionPreference = 'Stop'
$processes = @{}
foreach ($process in Get-Process) { $processes[[int]$process.Id] = $process.ProcessName }
Get-NetTCPConnection -State Listen | Sort-Object -Property 'LocalPort', 'LocalAddress' -Unique |
  ForEach-Object { Write-Output "$($_.LocalAddress):$($_.LocalPort)  $($processes[[int]$_.OwningProcess]) ($($_.OwningProcess))" }
exit 0
