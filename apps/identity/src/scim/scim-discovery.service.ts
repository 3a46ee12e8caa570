import { Inject, Injectable } from '@nestjs/common';
import { NotFoundError } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { scimBaseUrl, toListResponse } from './scim-resource.mapper.js';
import { SCIM_SCHEMAS } from './scim-schemas.constants.js';
import { GROUP_SCHEMA, MAX_RESULTS, USER_SCHEMA } from './scim.config.js';

const CORE = 'urn:ietf:params:scim:schemas:core:2.0';
const NO = { supported: false } as const;

/** Describes the SCIM service, as RFC 7643, sections 5 to 7, says. */
@Injectable()
export class ScimDiscoveryService {
  private readonly baseUrl: string;

  constructor(@Inject(IDENTITY_CONFIG) { publicApiUrl }: IdentityConfig) {
    this.baseUrl = scimBaseUrl(publicApiUrl);
  }

  getConfig(): object {
    return {
      schemas: [`${CORE}:ServiceProviderConfig`],
      patch: { supported: true },
      bulk: { ...NO, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: MAX_RESULTS },
      changePassword: NO,
      sort: NO,
      etag: NO,
      authenticationSchemes: [
        {
          type: 'oauthbearertoken',
          name: 'Bearer token',
          description: 'A token that an administrator creates at the identity provider of the organization',
          specUri: 'https://www.rfc-editor.org/info/rfc6750',
          primary: true,
        },
      ],
      meta: { resourceType: 'ServiceProviderConfig', location: `${this.baseUrl}/ServiceProviderConfig` },
    };
  }

  listResourceTypes(): object {
    return toListResponse(this.resourceTypes(), { total: 2, offset: 0 });
  }

  /** @throws NotFoundError */
  getResourceType(name: string): object {
    return found(
      this.resourceTypes().find(({ id }) => id === name),
      'Resource type',
    );
  }

  listSchemas(): object {
    const schemas = SCIM_SCHEMAS.map((schema) => this.withMeta(schema));
    return toListResponse(schemas, { total: schemas.length, offset: 0 });
  }

  /** @throws NotFoundError */
  getSchema(uri: string): object {
    return this.withMeta(
      found(
        SCIM_SCHEMAS.find(({ id }) => id === uri),
        'Schema',
      ),
    );
  }

  private resourceTypes() {
    return [
      { name: 'User', schema: USER_SCHEMA },
      { name: 'Group', schema: GROUP_SCHEMA },
    ].map(({ name, schema }) => ({
      schemas: [`${CORE}:ResourceType`],
      ...{ id: name, name, endpoint: `/${name}s`, schema },
      meta: { resourceType: 'ResourceType', location: `${this.baseUrl}/ResourceTypes/${name}` },
    }));
  }

  private withMeta<S extends { id: string }>(schema: S): S & object {
    return { ...schema, meta: { resourceType: 'Schema', location: `${this.baseUrl}/Schemas/${schema.id}` } };
  }
}

function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new NotFoundError(what);
  return value;
}
