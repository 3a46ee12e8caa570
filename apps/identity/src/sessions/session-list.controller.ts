import { Controller, Delete, Get, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, SkipTenantStatus, type UserCaller } from '@rmm/access';
import { PageQueryDto, pagedOf, UuidParam, type Paged } from '@rmm/service-kit';
import { DoneDto, DoneWithMessageDto } from '../dto/success.dto.js';
import { noStore, type HttpRequest, type HttpResponse } from './http.js';
import { SessionCookies } from './session-cookies.js';
import { SessionListItemDto } from './session-list.dto.js';
import { SessionListService } from './session-list.service.js';

@ApiTags('Authentication')
@Controller('auth/sessions')
@SkipTenantStatus()
export class SessionListController {
  constructor(
    private readonly sessions: SessionListService,
    private readonly cookies: SessionCookies,
  ) {}

  @Get()
  @SignedIn()
  @ApiOperation({ summary: 'Where the signed-in user is signed in' })
  @ApiOkResponse({ type: pagedOf(SessionListItemDto) })
  list(
    @CurrentCaller() caller: UserCaller,
    @Query() query: PageQueryDto,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<Paged<SessionListItemDto>> {
    noStore(response);
    return this.sessions.list(caller, query);
  }

  @Delete()
  @SignedIn()
  @ApiOperation({ summary: 'End every other session of the signed-in user' })
  @ApiOkResponse({ type: DoneWithMessageDto })
  async endOthers(@CurrentCaller() caller: UserCaller): Promise<DoneWithMessageDto> {
    const ended = await this.sessions.endOthers(caller);
    return { success: true, message: `Other sessions ended: ${ended}` };
  }

  @Delete(':id')
  @SignedIn()
  @ApiOperation({ summary: 'End one own session; the current one as well, its cookies go with it' })
  @ApiOkResponse({ type: DoneDto })
  async end(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Session') id: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<DoneDto> {
    await this.sessions.end(caller, id);
    if (id === caller.sessionId) this.cookies.clear(request, response);
    return { success: true };
  }
}
