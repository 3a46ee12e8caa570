import { Controller, Delete, Get, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { DoneDto } from '@rmm/service-kit';
import { PageQueryDto, pagedOf, UuidParam, type Paged } from '@rmm/validation';
import { DoneWithMessageDto } from '../dto/done-with-message.dto.js';
import { SessionListItemDto } from './dto/session-list-item.dto.js';
import { setNoStore, type HttpRequest, type HttpResponse } from './http-request.js';
import { SessionCookies } from './session-cookies.service.js';
import { SessionRevocationsService } from './session-revocations.service.js';
import { SessionsService } from './sessions.service.js';

@ApiTags('Authentication')
@Controller('auth/sessions')
@SkipTenantStatus()
export class SessionsController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly revocations: SessionRevocationsService,
    private readonly cookies: SessionCookies,
  ) {}

  @Get()
  @SignedIn()
  @ApiOperation({ summary: 'List your sessions' })
  @ApiOkResponse({ type: pagedOf(SessionListItemDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: PageQueryDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<Paged<SessionListItemDto>> {
    setNoStore(response);
    return this.sessions.list(caller, query);
  }

  @Delete()
  @SignedIn()
  @ApiOperation({ summary: 'End all your other sessions' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async revokeOthers(@CurrentCaller() caller: UserCaller): Promise<DoneWithMessageDto> {
    const ended = await this.revocations.revokeOthers(caller);
    return { success: true, message: `Other sessions ended: ${ended}` };
  }

  @Delete(':id')
  @SignedIn()
  @ApiOperation({ summary: 'End one of your sessions', description: 'Ending the current one clears its cookies.' })
  @ApiOkResponse({ type: DoneDto })
  async revoke(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Session') id: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneDto> {
    await this.revocations.revokeOne(caller, id);
    if (id === caller.sessionId) this.cookies.clear(request, response);
    return { success: true };
  }
}
