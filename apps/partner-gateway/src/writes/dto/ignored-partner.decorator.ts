import { fieldOf } from '@rmm/validation';

/** The partner that a client names: without effect, whatever its value, since the partner of the key counts. */
export const IsIgnoredPartner = (): PropertyDecorator =>
  fieldOf({
    optional: true,
    nullable: true,
    description: 'Ignored: the partner is always the one of the key',
    name: 'isIgnored',
    check: () => true,
    text: '',
    api: { type: String, format: 'uuid' },
  });
