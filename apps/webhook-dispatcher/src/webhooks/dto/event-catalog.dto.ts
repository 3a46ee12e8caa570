import { ApiProperty } from '@nestjs/swagger';
import { EVENT_GROUPS } from '@rmm/contracts';

export class EventTypeDto {
  @ApiProperty({ description: 'The event type' })
  type!: string;
  @ApiProperty({ enum: Object.keys(EVENT_GROUPS), description: 'Group of the type' })
  group!: string;
  @ApiProperty({ description: 'When it is published' })
  description!: string;
}

/** All event types; a constant, so the list is not paged. */
export class EventCatalogDto {
  @ApiProperty({ type: [EventTypeDto], description: 'All event types' })
  data!: readonly EventTypeDto[];
  @ApiProperty({ type: [String], description: 'Patterns that webhooks can subscribe to' })
  wildcards!: readonly string[];
}
