-- The highest of evenly spaced quantiles of all predictions at which the share of predictions at or above
-- it is, in every group, more than 0.8 and less than 1.2 times the share in the reference. Without a
-- reference: in every group more than 0.8 times the share in every other group.
-- views: _groups.sql
-- views: _outcomes.sql
WITH levels AS (
    SELECT slice, cut,
           bool_and(theirs > 0 AND mine / theirs > 0.8
                    AND (getvariable('ref_kind') IS NULL OR mine / theirs < 1.2)) AS near
    FROM shares_above(coalesce(getvariable('levels'), 100))
    GROUP BY slice, q, cut
)
SELECT slice, max(cut) FILTER (near) AS value
FROM levels
GROUP BY slice
