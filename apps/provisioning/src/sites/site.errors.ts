import { ConflictError } from '@rmm/service-kit';

export class SiteNameConflict extends ConflictError {
  override code = 'site_name_conflict';
  override error = 'A site of this name exists in the organization';
}

export class SiteNotEmpty extends ConflictError {
  override code = 'site_not_empty';
  override error = 'The site has devices';
}
