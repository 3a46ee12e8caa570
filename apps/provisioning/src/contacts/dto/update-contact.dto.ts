import { CreateContactDto } from './create-contact.dto.js';

/** An absent field stays as it is; null clears it. */
export class UpdateContactDto extends CreateContactDto {}
