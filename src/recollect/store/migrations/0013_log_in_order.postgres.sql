-- The log of a space in the order of arrival: here the key of events is (space, seq), which is that order.
SELECT 1;
