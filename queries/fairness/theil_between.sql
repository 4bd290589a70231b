-- The part of the Theil index between groups, over rows of known group: the index if every row had the
-- mean benefit of its group.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL AND "group" IS NOT NULL
WITH terms AS (
    SELECT slice, w, group_mean / mean AS x, CASE WHEN x = 0 THEN 0 ELSE x * ln(x) END AS term
    FROM group_benefits
)
SELECT slice, sum(w * term) / sum(w) AS value
FROM terms
GROUP BY slice
