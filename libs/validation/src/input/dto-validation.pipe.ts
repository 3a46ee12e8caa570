import { type ArgumentMetadata, Injectable, type PipeTransform, type Type, ValidationPipe } from '@nestjs/common';
import { getMetadataStorage, isObject, validateSync, type ValidatorOptions } from 'class-validator';
import { ValidationError } from '@rmm/errors';
import { createDto, type DtoSource } from './create-dto.js';
import { UnreadableBody } from './unreadable-body.js';
import { toValidationError } from './validation-error.mapper.js';

const VALIDATION: ValidatorOptions = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: false,
  stopAtFirstError: true,
  validationError: { target: false },
};

cacheMetadata();

/**
 * Creates and validates a DTO outside a route.
 * @throws ValidationError  naming every problem by its dotted path, unknown fields as "unknown field"
 */
export function readDto<T extends object>(type: Type<T>, value: unknown, source: DtoSource = 'body'): T {
  if (!isObject(value)) throw ValidationError.forField(source, 'must be an object');
  const dto = createDto(type, value, source);
  const errors = validateSync(dto, VALIDATION);
  if (errors.length > 0) throw toValidationError(errors);
  return dto as T;
}

/** Nest's pipe with `createDto` in the place of class-transformer. @see docs/decisions/0015-field-readers.md */
class SourcePipe extends ValidationPipe {
  constructor(private readonly source: DtoSource) {
    super({
      ...VALIDATION,
      transform: true,
      transformOptions: { groups: [source] },
      exceptionFactory: toValidationError,
      transformerPackage: {
        plainToInstance: <T>(type: Type<T>, value: unknown, options?: { groups?: string[] }) =>
          createDto(type as Type<object>, value as object, options?.groups?.[0] as DtoSource) as T,
        classToPlain: (value) => value as Record<string, unknown>,
      },
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (!isObject(value ?? {})) throw ValidationError.forField(this.source, 'must be an object');
    return (await super.transform(value, metadata)) as unknown;
  }

  /** All validators are synchronous. */
  protected override validate(object: object, options?: ValidatorOptions) {
    return validateSync(object, options);
  }

  protected override stripProtoKeys(): void {
    // `createDto` reads declared fields only and keeps the contents of open objects
  }

  protected override closeArrayGaps(): void {
    // arrays of JSON have none
  }

  /** JSON and query strings contain no binary values. */
  protected override findNestedBinaryValues() {
    return [];
  }
}

/** Global: bodies and queries become the DTO class of their parameter, or 400 `validation_failed`. */
@Injectable()
export class DtoValidationPipe implements PipeTransform {
  private readonly pipes = { body: new SourcePipe('body'), query: new SourcePipe('query') };

  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    const { type, data } = metadata;
    if (value instanceof UnreadableBody) throw value.reason;
    if ((type !== 'body' && type !== 'query') || data !== undefined) return value;
    return this.pipes[type].transform(value, metadata);
  }
}

/** class-validator collects the metadata of a class for each validation by a scan of all DTO classes; once is enough. */
function cacheMetadata(): void {
  const storage = getMetadataStorage();
  const collect = storage.getTargetValidationMetadatas.bind(storage);
  const known = new WeakMap<object, ReturnType<typeof collect>>();
  storage.getTargetValidationMetadatas = (target, ...options) => {
    const metadata = known.get(target) ?? collect(target, ...options);
    known.set(target, metadata);
    return metadata;
  };
}
