# Lists the 20 largest files of at least 500 MB in the folders of users. Changes nothing.
$ErrorActionPreference = 'SilentlyContinue'
$folder = Split-Path -Path $env:PUBLIC -Parent
Write-Output "Searching $folder"
Get-ChildItem -Path $folder -File -Recurse -Force | Where-Object { $_.Length -ge 500mb } |
  Sort-Object -Property Length -Descending | Select-Object -First 20 |
  ForEach-Object { Write-Output "$([math]::Round($_.Length / 1mb)) MB  $($_.FullName)" }
exit 0
