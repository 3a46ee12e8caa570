import { fieldOf } from '@rmm/validation';

/**
 * Refuses parameters of a list that exist on other lists: ignoring a filter would return records that the client excluded,
 * ignoring a cursor the same page for ever.
 */
export const UnservedParameters =
  (...names: string[]): ClassDecorator =>
  ({ prototype }) => {
    for (const name of names) {
      fieldOf({
        optional: true,
        description: 'Not served by this list: the response is 400 `validation_failed`',
        name: 'isUnserved',
        check: () => false,
        text: 'is not served by this list',
        api: { type: String },
      })(prototype as object, name);
    }
  };
