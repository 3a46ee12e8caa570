# Shows the domain or workgroup, and the state of Microsoft Entra. Changes nothing.
$ErrorActionPreference = 'Stop'
$computer = Get-CimInstance -ClassName Win32_ComputerSystem
$roles = 'standalone workstation', 'member workstation', 'standalone server', 'member server', 'backup domain controller', 'primary domain controller'
Write-Output "Name: $($computer.Name), domain or workgroup: $($computer.Domain), role: $($roles[[int]$computer.DomainRole])"
if (Get-Command -Name dsregcmd.exe -ErrorAction SilentlyContinue) {
  dsregcmd.exe /status | Where-Object { $_ -match '^\s*(AzureAdJoined|EnterpriseJoined|DomainJoined|TenantName)\s*:' } |
    ForEach-Object { Write-Output $_.Trim() }
}
exit 0
