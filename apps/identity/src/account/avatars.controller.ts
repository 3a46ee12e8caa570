import { Controller, Delete, Get, HttpCode, Post, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { CurrentCaller, SignedIn, type UserCaller } from '@rmm/access';
import { FormFile, TakesFormFile, UuidParam } from '@rmm/validation';
import { getHeader, type HttpRequest, type HttpResponse } from '../sessions/http-request.js';
import { MAX_AVATAR_BYTES } from './avatar-form.js';
import { AVATAR_MIME } from './avatar-image.js';
import { AvatarsService } from './avatars.service.js';
import { AvatarDto, NoAvatarDto } from './dto/avatar.dto.js';

@ApiTags('Account')
@Controller('users')
export class AvatarsController {
  constructor(private readonly avatars: AvatarsService) {}

  @Post('me/avatar')
  @SignedIn()
  @HttpCode(200)
  @TakesFormFile({ field: 'file', maxBytes: MAX_AVATAR_BYTES, description: 'PNG, JPEG or WebP of at most 5 MB' })
  @ApiOperation({ summary: 'Upload your avatar' })
  @ApiOkResponse({ type: AvatarDto })
  replace(@CurrentCaller() caller: UserCaller, @FormFile() file: Buffer): Promise<AvatarDto> {
    return this.avatars.replace(caller, file);
  }

  @Delete('me/avatar')
  @SignedIn()
  @ApiOperation({ summary: 'Remove your avatar' })
  @ApiOkResponse({ type: NoAvatarDto })
  async remove(@CurrentCaller() caller: UserCaller): Promise<NoAvatarDto> {
    await this.avatars.remove(caller);
    return { avatarUrl: null };
  }

  @Get(':id/avatar')
  @SignedIn()
  @ApiOperation({ summary: 'Get the avatar of a user of your tenant' })
  @ApiOkResponse({ content: { [AVATAR_MIME]: { schema: { type: 'string', format: 'binary' } } } })
  @ApiResponse({ status: 304, description: '`If-None-Match` contains the current ETag' })
  async get(
    @CurrentCaller() caller: UserCaller,
    @UuidParam('id', 'Avatar') id: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<StreamableFile | undefined> {
    const { bytes, etag, mime } = await this.avatars.get(caller, id, parseTags(getHeader(request, 'if-none-match')));
    response.setHeader('ETag', `"${etag}"`);
    response.setHeader('Cache-Control', 'private, max-age=300');
    response.setHeader('Vary', 'Authorization, Origin');
    if (bytes) return new StreamableFile(bytes, { type: mime, disposition: 'inline', length: bytes.length });
    response.statusCode = 304;
    return undefined;
  }
}

/** Parses `"a", W/"b"` into a and b: RFC 9110 requires a weak comparison here. */
const parseTags = (header = ''): string[] =>
  header.split(',').map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'));
