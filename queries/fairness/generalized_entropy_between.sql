-- The part of the generalised entropy index between groups, over rows of known group: the index if every
-- row had the mean benefit of its group.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL AND "group" IS NOT NULL
SELECT slice,
       sum(w * entropy_term(group_mean / mean, coalesce(getvariable('alpha'), 2)::DOUBLE)) / sum(w) AS value
FROM group_benefits
GROUP BY slice
