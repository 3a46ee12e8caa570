import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { MAX_LIMIT } from './dto/export-query.dto.js';
import type { ExportResource } from './export-record.mapper.js';

const ofSite = ApiQuery({
  name: 'siteId',
  required: false,
  description: 'Lists records of one site; none for a site of another partner',
  schema: { type: 'string', format: 'uuid' },
});

/** The query parameters of a list. The service reads the query, because its errors have codes of their own. */
export const ExportParameters = ({ defaultLimit, hasSites }: Pick<ExportResource, 'defaultLimit' | 'hasSites'>) =>
  applyDecorators(
    ApiQuery({
      name: 'orgId',
      required: false,
      description: 'Lists records of one organization',
      schema: { type: 'string', format: 'uuid' },
    }),
    ...(hasSites ? [ofSite] : []),
    ApiQuery({
      name: 'updatedSince',
      required: false,
      description: 'Lists records changed after this time, oldest change first',
      schema: { type: 'string', format: 'date-time' },
    }),
    ApiQuery({
      name: 'cursor',
      required: false,
      description: '`nextCursor` of the page before',
      schema: { type: 'string', maxLength: 4096 },
    }),
    ApiQuery({
      name: 'limit',
      required: false,
      description: 'Most records of a page',
      schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: defaultLimit },
    }),
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'ETags of pages that the caller has; `*` for any',
    }),
    ApiResponse({ status: 304, description: 'The page is the same except for `snapshotAt`' }),
  );
