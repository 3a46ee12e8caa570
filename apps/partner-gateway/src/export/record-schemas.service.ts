import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { API_PREFIX } from '@rmm/contracts';
import { OpenApiDocuments } from '@rmm/service-kit';
import { toRecordSchema } from './record-schema.js';

/** A record differs from its published schema: an error of a mapper, or data that its owner should not have stored. */
export class RecordSchemaViolation extends Error {
  constructor(resource: string, { path, code }: { path: string; code: string }) {
    super(`A record of ${resource} violates its published schema at ${path || 'its root'}: ${code}`);
  }
}

/** Checks records against the schemas that the OpenAPI document publishes. Each schema is compiled once. */
@Injectable()
export class RecordSchemasService {
  private readonly compiled = new Map<string, z.ZodType>();

  constructor(private readonly documents: OpenApiDocuments) {}

  /**
   * @param resource  the list, as in its path
   * @throws RecordSchemaViolation  naming the field, never its value
   */
  assertValid(resource: string, record: object): void {
    const { error } = this.get(resource).safeParse(record);
    if (error) throw new RecordSchemaViolation(resource, deepestIssue(error.issues));
  }

  private get(resource: string): z.ZodType {
    let schema = this.compiled.get(resource);
    if (!schema) {
      schema = z.fromJSONSchema(toRecordSchema(this.documents.own(), `${API_PREFIX}/partner-api/${resource}`));
      this.compiled.set(resource, schema);
    }
    return schema;
  }
}

interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  /** The issues of each alternative of a union. */
  readonly errors?: readonly (readonly Issue[])[];
  readonly keys?: readonly string[];
}

/** Returns the most specific violation: of a union, that of the alternative that was probably meant. */
function deepestIssue([first]: readonly Issue[]): { path: string; code: string } {
  const alternatives = (first.errors ?? []).filter(({ length }) => length > 0);
  const [meant] = [...alternatives].sort((a, b) => distanceOf(a) - distanceOf(b));
  const nested = meant ? deepestIssue(meant) : { path: '', code: first.code ?? 'invalid' };
  const own = [...first.path, ...(first.keys ?? []).slice(0, 1)].map(String);
  return { path: [...own, nested.path].filter(Boolean).join('.').slice(0, 256), code: nested.code };
}

/** An alternative of another type was not meant, and rather not one in which the value of an enumeration differs. */
function distanceOf(issues: readonly Issue[]): number {
  if (issues.some(({ path, code }) => path.length === 0 && code === 'invalid_type')) return Infinity;
  return issues.filter(({ code }) => code === 'invalid_value').length;
}
