-- The part of the Theil index within groups, over rows of known group: the indices of the groups, weighted
-- by their shares of all benefit. Here it is summed over rows.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL AND "group" IS NOT NULL
SELECT slice, sum(w * CASE WHEN b = 0 THEN 0 ELSE b / mean * ln(b / group_mean) END) / sum(w) AS value
FROM group_benefits
GROUP BY slice
