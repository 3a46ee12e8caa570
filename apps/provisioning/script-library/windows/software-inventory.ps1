# Lists the installed programs with version and publisher, from the registry. Changes nothing.
$ErrorActionPreference = 'Stop'
$keys = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall\*',
  'HKLM:\SOFTWARE\WOW6432Node\Microsoft\Windows\CurrentVersion\Uninstall\*'
Get-ItemProperty -Path $keys -ErrorAction SilentlyContinue | Where-Object { $_.DisplayName -and -not $_.SystemComponent } |
  Sort-Object -Property 'DisplayName', 'DisplayVersion' -Unique |
  ForEach-Object { Write-Output "$($_.DisplayName)  $($_.DisplayVersion)  $($_.Publisher)" }
exit 0
