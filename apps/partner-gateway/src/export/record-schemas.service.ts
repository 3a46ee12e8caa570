import { Injectable } from '@nestjs/common';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { API_PREFIX } from '@rmm/contracts';
import { OpenApiDocuments } from '@rmm/service-kit';
import { RecordSchemaViolation } from './export.errors.js';
import { toRecordSchema } from './record-schema.mapper.js';

/** Checks records against the schemas that the OpenAPI document publishes. Each schema is compiled once. */
@Injectable()
export class RecordSchemasService {
  /** Does not check the schemas themselves: they are part of a document that tests lint. */
  private readonly ajv = formats.default(new Ajv2020({ validateSchema: false }));
  private readonly compiled = new Map<string, ValidateFunction>();

  constructor(private readonly documents: OpenApiDocuments) {}

  /**
   * @param resource  the list, as in its path
   * @throws RecordSchemaViolation  naming the field, never its value
   */
  assertValid(resource: string, record: object): void {
    const validate = this.get(resource);
    if (!validate(record)) throw new RecordSchemaViolation(resource, mostSpecific(validate.errors ?? []));
  }

  private get(resource: string): ValidateFunction {
    let validate = this.compiled.get(resource);
    if (!validate) {
      validate = this.ajv.compile(toRecordSchema(this.documents.own(), `${API_PREFIX}/partner-api/${resource}`));
      this.compiled.set(resource, validate);
    }
    return validate;
  }
}

interface Violation {
  path: string;
  /** The keyword of the schema: `type`, `required`, `additionalProperties` ... */
  keyword: string;
}

/** Returns the violation deepest in the record; of the alternatives of a union, not one of another kind of record. */
function mostSpecific(errors: readonly ErrorObject[]): Violation {
  const rank = ({ path, keyword }: Violation) =>
    path === '' ? 0 : 2 * path.split('.').length - (keyword === 'enum' ? 1 : 0);
  const [first] = errors.map(toViolation).sort((a, b) => rank(b) - rank(a));
  return first;
}

function toViolation({ instancePath, keyword, params }: ErrorObject): Violation {
  const field = (params['missingProperty'] ?? params['additionalProperty']) as string | undefined;
  const names = [...instancePath.split('/').slice(1), ...(field === undefined ? [] : [field])];
  return { path: names.join('.').slice(0, 256), keyword };
}
