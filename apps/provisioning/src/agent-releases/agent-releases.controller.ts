import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import {
  ApiFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiProduces,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '@rmm/access';
import { RateLimit } from '@rmm/rate-limits';
import { ErrorCodes, NotFoundError, RangeNotSatisfiableError } from '@rmm/service-kit';
import { LIMITS } from '../limits.js';
import { AGENT_ARCHITECTURES, AGENT_OPERATING_SYSTEMS } from './agent-binary.js';
import { AgentReleasesService } from './agent-releases.service.js';
import { InstallScriptsService } from './install-scripts.service.js';

const CACHE_CONTROL = 'public, max-age=300';
const BINARY = { schema: { type: 'string', format: 'binary' } } as const;
const TEXT = { schema: { type: 'string' } } as const;

/** Public: an agent is downloaded before its device has a credential. @see docs/reference/provisioning.md#downloads */
@ApiTags('Agents')
@Controller('agents')
export class AgentReleasesController {
  constructor(
    private readonly releases: AgentReleasesService,
    private readonly scripts: InstallScriptsService,
  ) {}

  @Get('download/:os/:arch')
  @Public()
  @RateLimit(LIMITS.agentDownload)
  @ErrorCodes({ 400: ['bad_request'], 404: ['not_found'], 416: ['range_not_satisfiable'] })
  @ApiOperation({
    summary: 'Download the agent',
    description: 'The file, with `ETag`, ranges and its SHA-256 in `X-Checksum-Sha256`; or 302 to the release server.',
  })
  @ApiParam({ name: 'os', enum: AGENT_OPERATING_SYSTEMS, description: 'Operating system of the agent' })
  @ApiParam({ name: 'arch', enum: AGENT_ARCHITECTURES, description: 'Processor architecture of the agent' })
  @ApiProduces('application/octet-stream')
  @ApiOkResponse({ ...BINARY, description: 'The file' })
  @ApiResponse({ ...BINARY, status: 206, description: 'The part of the file that `Range` names' })
  @ApiFoundResponse({ description: 'The address of the binary' })
  @ApiResponse({ status: 304, description: '`If-None-Match` contains the current ETag' })
  async download(@Param('os') os: string, @Param('arch') arch: string, @Res() response: Response): Promise<void> {
    const binary = await this.releases.find(os, arch);
    if ('url' in binary) return response.redirect(302, binary.url);
    response.setHeader('ETag', `"${binary.checksum}"`);
    response.setHeader('X-Checksum-Sha256', binary.checksum);
    response.setHeader('Cache-Control', CACHE_CONTROL);
    response.setHeader('Content-Type', 'application/octet-stream');
    response.setHeader('Content-Disposition', `attachment; filename="${binary.name}"`);
    await sendFile(response, binary.dir, binary.name);
  }

  @Get('download/:os/:arch/sha256')
  @Public()
  @RateLimit(LIMITS.agentDownload)
  @ErrorCodes({ 404: ['not_found'] })
  @ApiOperation({ summary: 'Get the checksum of the agent', description: 'One line as `sha256sum` prints it, or 302.' })
  @ApiParam({ name: 'os', enum: AGENT_OPERATING_SYSTEMS, description: 'Operating system of the agent' })
  @ApiParam({ name: 'arch', enum: AGENT_ARCHITECTURES, description: 'Processor architecture of the agent' })
  @ApiProduces('text/plain')
  @ApiOkResponse(TEXT)
  @ApiFoundResponse({ description: 'The address of the checksum' })
  async checksum(@Param('os') os: string, @Param('arch') arch: string, @Res() response: Response): Promise<void> {
    const checksum = await this.releases.findChecksum(os, arch);
    if ('url' in checksum) return response.redirect(302, checksum.url);
    response.setHeader('Cache-Control', CACHE_CONTROL);
    response.type('text/plain').send(checksum.line);
  }

  @Get('install.sh')
  @Public()
  @RateLimit(LIMITS.agentDownload)
  @Header('Content-Type', 'text/x-shellscript; charset=utf-8')
  @Header('Cache-Control', CACHE_CONTROL)
  @ApiOperation({ summary: 'Get the installation script for Linux and macOS' })
  @ApiProduces('text/x-shellscript')
  @ApiOkResponse(TEXT)
  installShell(): string {
    return this.scripts.shell;
  }

  @Get('install.ps1')
  @Public()
  @RateLimit(LIMITS.agentDownload)
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @Header('Cache-Control', CACHE_CONTROL)
  @ApiOperation({ summary: 'Get the installation script for Windows' })
  @ApiProduces('text/plain')
  @ApiOkResponse(TEXT)
  installPowerShell(): string {
    return this.scripts.powerShell;
  }
}

/** Sends a file or the range that the request asks for. @throws NotFoundError, RangeNotSatisfiableError */
function sendFile(response: Response, root: string, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    response.sendFile(name, { root, cacheControl: false }, (error?: FileError) => {
      if (!error || response.headersSent) return void resolve();
      for (const header of FILE_HEADERS) response.removeHeader(header);
      reject(toDomainError(error));
    });
  });
}

type FileError = NodeJS.ErrnoException & { status?: number; headers?: Record<string, string> };

/** Headers of the file, which an error must not have. */
const FILE_HEADERS = ['ETag', 'Last-Modified', 'X-Checksum-Sha256', 'Cache-Control', 'Content-Disposition'];

function toDomainError(error: FileError): Error {
  if (error.status === 404) return new NotFoundError('Agent binary'); // removed meanwhile
  if (error.status !== 416) return error;
  return new RangeNotSatisfiableError(undefined, { headers: error.headers, cause: error });
}
