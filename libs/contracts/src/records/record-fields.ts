import { z } from 'zod';

/** Fields of records that other services publish: an absent field is an unknown value, which is null. */
const orNull = <T>(type: z.ZodType<T>) => type.nullish().transform((value): T | null => value ?? null);

export const uuid = z.guid().transform((id) => id.toLowerCase());
export const optionalUuid = orNull(uuid);
export const name = z.string().min(1).max(255);
/** The id of an item in a collection, or of a record of another resource. */
export const itemId = z.string().min(1).max(255);
export const optionalId = orNull(itemId);
export const text = (max = 255) => orNull(z.string().max(max));
export const number = orNull(z.number().finite());
export const integer = orNull(z.int());
export const flag = orNull(z.boolean());
export const day = orNull(z.iso.date());
export const instant = orNull(z.iso.datetime({ offset: true }));
export const oneOf = <const W extends readonly [string, ...string[]]>(words: W) => z.enum(words);
export const optionalOneOf = <const W extends readonly [string, ...string[]]>(words: W) => orNull(z.enum(words));
/** Any JSON, as the publisher defines it. */
export const json = z
  .unknown()
  .nullish()
  .transform((value): unknown => value ?? null);

/** A list; an absent one is empty. */
export const list = <T extends z.ZodType>(item: T) => z.preprocess((value) => value ?? [], z.array(item));
/** An object whose fields may all be unknown. */
export const section = <S extends z.ZodRawShape>(shape: S) => z.preprocess((value) => value ?? {}, z.object(shape));
export const optionalSection = <S extends z.ZodRawShape>(shape: S) =>
  z
    .object(shape)
    .nullish()
    .transform((value) => value ?? null);

/** The number of items that the publisher knows, of which a record may have the first ones; null when it has all of them. */
export const itemTotal = z
  .object({ total: z.int().min(0) })
  .nullish()
  .transform((block): { total: number } | null => (block ? { total: block.total } : null));

export const SOURCE_SCOPES = ['organization', 'partner'] as const;
/** Null: of the partner when the record has no organization, else of the organization. */
export const sourceScope = optionalOneOf(SOURCE_SCOPES);
