import { ApiProperty } from '@nestjs/swagger';
import { EVENT_GROUPS } from '@rmm/contracts';

export class EventTypeDto {
  @ApiProperty()
  type!: string;
  @ApiProperty({ enum: Object.keys(EVENT_GROUPS) })
  group!: string;
  @ApiProperty()
  description!: string;
}

/** All event types; a constant, so the list is not paged. */
export class EventCatalogDto {
  @ApiProperty({ type: [EventTypeDto] })
  data!: readonly EventTypeDto[];
  @ApiProperty({ type: [String] })
  wildcards!: readonly string[];
}
