export { DoneWithMessageDto } from './done-with-message.dto.js';
