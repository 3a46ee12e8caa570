# Shows the DNS servers of each network interface, and whether a name resolves. Exit code 1: it does not. Changes nothing.
$ErrorActionPreference = 'Stop'
Get-DnsClientServerAddress | Where-Object { $_.ServerAddresses.Count -gt 0 } |
  ForEach-Object { Write-Output "$($_.InterfaceAlias): $($_.ServerAddresses -join ', ')" }
try {
  $answer = @(Resolve-DnsName -Name example.com -Type A -DnsOnly)
  Write-Output "example.com: $(($answer | Where-Object { $_.IPAddress } | Select-Object -First 1).IPAddress)"
  exit 0
} catch {
  Write-Output "example.com does not resolve: $($_.Exception.Message)"
  exit 1
}
