import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { SignedIn } from '@rmm/access';
import { ACTION_LABELS, PERMISSION_CATALOGUE, RESOURCE_LABELS } from '@rmm/permissions';
import { PermissionCatalogueDto } from './role.dto.js';

@ApiTags('Roles')
@Controller('permissions')
export class PermissionsController {
  @Get('catalog')
  @SignedIn()
  @ApiOperation({ summary: 'Every permission a role can have, with labels' })
  @ApiOkResponse({ type: PermissionCatalogueDto })
  catalogue(): PermissionCatalogueDto {
    return { permissions: [...PERMISSION_CATALOGUE], resourceLabels: RESOURCE_LABELS, actionLabels: ACTION_LABELS };
  }
}
