import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { SignedIn } from '@rmm/access';
import { ACTION_LABELS, PERMISSION_CATALOG, RESOURCE_LABELS } from '@rmm/permissions';
import { PermissionCatalogDto } from './dto/permission-catalog.dto.js';

@ApiTags('Roles')
@Controller('permissions')
export class PermissionsController {
  @Get('catalog')
  @SignedIn()
  @ApiOperation({ summary: 'List every permission a role can have, with labels' })
  @ApiOkResponse({ type: PermissionCatalogDto })
  getCatalog(): PermissionCatalogDto {
    return { permissions: [...PERMISSION_CATALOG], resourceLabels: RESOURCE_LABELS, actionLabels: ACTION_LABELS };
  }
}
