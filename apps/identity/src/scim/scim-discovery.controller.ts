import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ScimToken } from '@rmm/access';
import { ErrorCodes } from '@rmm/service-kit';
import { ScimDiscoveryService } from './scim-discovery.service.js';
import { LimitScim, ScimRoutes } from './scim-routes.decorator.js';

const OPEN_OBJECT = { schema: { type: 'object', additionalProperties: true } } as const;

/** Documents of what this SCIM service supports. @see docs/reference/scim.md */
@ScimRoutes()
@ScimToken()
@ErrorCodes({ 404: ['not_found'] })
@Controller('scim/v2')
export class ScimDiscoveryController {
  constructor(private readonly discovery: ScimDiscoveryService) {}

  @Get('ServiceProviderConfig')
  @LimitScim()
  @ApiOperation({ summary: 'Get what the SCIM service supports' })
  @ApiOkResponse(OPEN_OBJECT)
  config(): object {
    return this.discovery.getConfig();
  }

  @Get('ResourceTypes')
  @LimitScim()
  @ApiOperation({ summary: 'List the resource types of SCIM' })
  @ApiOkResponse(OPEN_OBJECT)
  resourceTypes(): object {
    return this.discovery.listResourceTypes();
  }

  @Get('ResourceTypes/:name')
  @LimitScim()
  @ApiParam({ name: 'name', type: String, description: 'Name of the resource type' })
  @ApiOperation({ summary: 'Get a resource type of SCIM' })
  @ApiOkResponse(OPEN_OBJECT)
  resourceType(@Param('name') name: string): object {
    return this.discovery.getResourceType(name);
  }

  @Get('Schemas')
  @LimitScim()
  @ApiOperation({ summary: 'List the schemas of SCIM resources' })
  @ApiOkResponse(OPEN_OBJECT)
  schemas(): object {
    return this.discovery.listSchemas();
  }

  @Get('Schemas/:uri')
  @LimitScim()
  @ApiParam({ name: 'uri', type: String, description: 'URN of the schema' })
  @ApiOperation({ summary: 'Get the schema of a SCIM resource' })
  @ApiOkResponse(OPEN_OBJECT)
  schema(@Param('uri') uri: string): object {
    return this.discovery.getSchema(uri);
  }
}
