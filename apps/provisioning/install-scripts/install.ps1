<#
.SYNOPSIS
Installs the agent on Windows and enrolls this device. Running it again updates the agent when there is another build and
leaves the enrollment as it is.
.EXAMPLE
& ([scriptblock]::Create((Invoke-RestMethod '@API_URL@/agents/install.ps1'))) -Key '<enrollment key>'
#>
[CmdletBinding()]
param(
  [ValidatePattern('^[A-Za-z0-9_-]*$')] [string] $Key = $env:RMM_ENROLLMENT_KEY,
  [string] $Secret = $env:RMM_ENROLLMENT_SECRET,
  [ValidatePattern('^[A-Fa-f0-9-]*$')] [string] $Site = '',
  [string] $Prefix = '',
  [switch] $NoService,
  [switch] $Force
)

function Install-RmmAgent {
  $ErrorActionPreference = 'Stop'
  $ProgressPreference = 'SilentlyContinue' # drawing the progress makes downloads slow
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
  $apiUrl = '@API_URL@'

  $isAdministrator = ([Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()).IsInRole(
    [Security.Principal.WindowsBuiltInRole]::Administrator)
  if (-not $Prefix -and -not $isAdministrator) { throw 'Run it as administrator.' }
  $programFolder = if ($Prefix) { Join-Path $Prefix 'Program' } else { Join-Path $env:ProgramFiles 'RMM Agent' }
  $dataFolder = if ($Prefix) { Join-Path $Prefix 'Data' } else { Join-Path $env:ProgramData 'RMM Agent' }
  $binary = Join-Path $programFolder 'rmm-agent.exe'
  $config = Join-Path $dataFolder 'agent.json'
  $arch = switch ($env:PROCESSOR_ARCHITECTURE) {
    'AMD64' { 'amd64' }
    'ARM64' { 'arm64' }
    default { throw "There is no agent for $_." }
  }
  New-Item -ItemType Directory -Force -Path $programFolder, $dataFolder | Out-Null
  if (-not $Prefix) {
    # SYSTEM and administrators only, by their well-known ids: the folder has the token of the agent.
    & icacls.exe $dataFolder /inheritance:r /grant:r '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' | Out-Null
  }

  # Download the agent and compare it with the checksum before it replaces anything.
  $line = (Invoke-WebRequest -UseBasicParsing -Uri "$apiUrl/agents/download/windows/$arch/sha256").Content
  if ($line -is [byte[]]) { $line = [Text.Encoding]::ASCII.GetString($line) }
  $expected = ($line -split '\s+')[0]
  if ($expected -notmatch '^[0-9a-f]{64}$') { throw 'The checksum is malformed.' }
  $isReplaced = $false
  if ((Test-Path $binary) -and ((Get-FileHash -Algorithm SHA256 $binary).Hash -eq $expected)) {
    Write-Output 'The agent is up to date.'
  } else {
    $download = "$binary.new"
    Invoke-WebRequest -UseBasicParsing -Uri "$apiUrl/agents/download/windows/$arch" -OutFile $download
    if ((Get-FileHash -Algorithm SHA256 $download).Hash -ne $expected) {
      Remove-Item $download
      throw 'The download does not have the expected checksum.'
    }
    if (Get-Service 'rmm-agent' -ErrorAction SilentlyContinue) { Stop-Service 'rmm-agent' -Force }
    Move-Item -Force $download $binary
    $isReplaced = $true
    Write-Output "Installed $binary."
  }

  # Enroll, unless this device is enrolled.
  if ((Test-Path $config) -and -not $Force) {
    Write-Output "This device is enrolled: $config."
  } else {
    if (-not $Key) { throw 'An enrollment key is needed: -Key' }
    $headers = @{}
    if (Test-Path $config) { $headers['X-Agent-Reenrollment-Token'] = (Get-Content -Raw $config | ConvertFrom-Json).authToken }
    $body = @{
      enrollmentKey = $Key
      hostname      = $env:COMPUTERNAME
      osType        = 'windows'
      osVersion     = [Environment]::OSVersion.Version.ToString()
      architecture  = $arch
    }
    if ($Secret) { $body['enrollmentSecret'] = $Secret }
    if ($Site) { $body['siteId'] = $Site }
    $serial = (Get-CimInstance Win32_BIOS -ErrorAction SilentlyContinue).SerialNumber
    if ($serial) { $body['hardwareInfo'] = @{ serialNumber = $serial } }
    $json = [Text.Encoding]::UTF8.GetBytes(($body | ConvertTo-Json))
    $response = Invoke-RestMethod -Method Post -Uri "$apiUrl/agents/enroll" -Headers $headers -ContentType 'application/json' -Body $json
    if (-not $response.agentId -or -not $response.authToken) { throw 'The response has no agent.' }
    $stored = [ordered]@{
      serverUrl = $apiUrl
      agentId   = $response.agentId
      deviceId  = $response.deviceId
      orgId     = $response.orgId
      authToken = $response.authToken
    }
    $stored | ConvertTo-Json | Set-Content -Encoding UTF8 "$config.new"
    Move-Item -Force "$config.new" $config
    $isReplaced = $true
    Write-Output "Enrolled as device $($response.deviceId)."
  }

  if ($NoService) { return }
  $service = Get-Service 'rmm-agent' -ErrorAction SilentlyContinue
  if (-not $service) {
    $command = '"{0}" run --config "{1}"' -f $binary, $config
    New-Service -Name 'rmm-agent' -DisplayName 'RMM agent' -StartupType Automatic -BinaryPathName $command | Out-Null
    Start-Service 'rmm-agent'
  } elseif ($isReplaced) {
    Restart-Service 'rmm-agent' -Force
  } else {
    Start-Service 'rmm-agent'
  }
}

# In a function that is called at the end: a download that was cut off runs nothing.
Install-RmmAgent
