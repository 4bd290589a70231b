-- Mean discounted exposure of an item of a group in a list, compared between groups of items by ratio.
WITH placed AS (
    SELECT *, coalesce(rank, row_number() OVER (
        PARTITION BY slice, "group", "user" ORDER BY score DESC NULLS LAST, item
    )) AS place
    FROM recs
    WHERE "user" IS NOT NULL AND item IS NOT NULL
),
worth AS (
    SELECT p.slice, p."user", p."group", place, i.item_group,
           CASE coalesce(getvariable('discount'), 'log')
               WHEN 'log' THEN 1 / log2(1 + place)
               WHEN 'late_log' THEN 1 / greatest(1, log2(place))
               WHEN 'reciprocal' THEN 1.0 / place
               WHEN 'geometric' THEN pow(coalesce(getvariable('p'), 0.8), place - 1)
           END AS exposure
    FROM placed AS p
    LEFT JOIN items AS i ON i.item = p.item
    WHERE place <= coalesce(getvariable('k'), place)
),
sides AS (
    SELECT z.slice, each.item_group,
           (SELECT count(*) FROM (SELECT DISTINCT "user", "group" FROM placed AS p
                                  WHERE p.slice IS NOT DISTINCT FROM z.slice)) AS lists,
           (SELECT coalesce(sum(w.exposure), 0) FROM worth AS w
            WHERE w.slice IS NOT DISTINCT FROM z.slice AND w.item_group = each.item_group) AS got,
           (SELECT count(*) FROM items AS i WHERE i.item_group = each.item_group) AS size,
           (SELECT coalesce(sum(w.exposure), 0) FROM worth AS w
            WHERE w.slice IS NOT DISTINCT FROM z.slice AND w.item_group IS NOT NULL
              AND CASE getvariable('ref_kind')
                      WHEN 'value' THEN w.item_group = getvariable('ref')
                      WHEN 'rest' THEN w.item_group <> each.item_group ELSE true END) AS other_got,
           (SELECT count(*) FROM items AS i
            WHERE i.item_group IS NOT NULL
              AND CASE getvariable('ref_kind')
                      WHEN 'value' THEN i.item_group = getvariable('ref')
                                        AND each.item_group <> getvariable('ref')
                      WHEN 'rest' THEN i.item_group <> each.item_group ELSE true END) AS other_size
    FROM (SELECT DISTINCT slice FROM placed) AS z,
         (SELECT DISTINCT item_group FROM items WHERE item_group IS NOT NULL) AS each
),
each AS (
    SELECT slice, got / size / lists AS mine, other_got / nullif(other_size, 0) / lists AS theirs,
           CASE WHEN mine = 0 AND theirs = 0 THEN NULL ELSE mine / theirs END AS apart
    FROM sides
)
SELECT slice,
       CASE WHEN count(mine) < 2 THEN NULL
            WHEN getvariable('ref_kind') IS NULL THEN min(mine) / nullif(max(mine), 0)
            ELSE first(apart ORDER BY round(abs(ln(apart)), 12) DESC, apart)
                FILTER (apart IS NOT NULL)
       END AS value
FROM each
GROUP BY slice
